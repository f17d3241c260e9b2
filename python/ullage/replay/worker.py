"""Runs a worker process of ``ullage.replay.workers``."""

from ullage.replay.workers import serve

if __name__ == "__main__":
    serve()

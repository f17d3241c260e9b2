"""The program of a worker process, see ``ullage.replay.workers``."""

from ullage.replay.workers import serve

if __name__ == "__main__":
    serve()

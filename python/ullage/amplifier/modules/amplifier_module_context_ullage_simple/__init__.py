"""The module ``context-ullage-simple`` for a mount plan that names its source."""

from ullage.amplifier.simple import mount

__all__ = ["mount"]
__amplifier_module_type__ = "context"

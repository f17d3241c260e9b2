"""The module ``context-ullage-persistent`` for a mount plan that names its source."""

from ullage.amplifier.persistent import mount

__all__ = ["mount"]
__amplifier_module_type__ = "context"

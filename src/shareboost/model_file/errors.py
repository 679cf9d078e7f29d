"""The one error of a file that is no model."""


class ModelFormatError(ValueError):
    """A model file that is torn, damaged, of a newer version, or that no model could have made."""

"""Pages and pictures of what ullage did, for people: without scripts and without a network."""

from ullage.page.picture import session_picture
from ullage.page.plot import Kind, Line
from ullage.page.session import session_page

__all__ = ["Kind", "Line", "session_page", "session_picture"]

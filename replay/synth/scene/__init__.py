"""Table scenes: things to point at, free places, the room around them, and the light."""

from . import kinds_vessels  # noqa: F401
from .scene import Facts, Scene, SceneError, SceneObject, SceneSpace, draw_scene
from .view import View

__all__ = ["Facts", "Scene", "SceneError", "SceneObject", "SceneSpace", "View", "draw_scene"]

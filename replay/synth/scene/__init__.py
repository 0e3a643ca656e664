"""Table scenes: things to point at, free places, the room around them, and the light."""

from . import (  # noqa: F401
    kinds_belongings,
    kinds_desk,
    kinds_electronics,
    kinds_food,
    kinds_kitchen,
    kinds_packages,
    kinds_parts,
    kinds_tools,
    kinds_vessels,
)
from .scene import Facts, Scene, SceneError, SceneObject, SceneSpace, draw_scene
from .view import View

__all__ = ["Facts", "Scene", "SceneError", "SceneObject", "SceneSpace", "View", "draw_scene"]

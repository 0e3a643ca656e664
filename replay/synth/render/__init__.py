"""The picture that a head-mounted camera takes of a scene.

The texture coordinate ``u`` runs along a texture's rows to the right, ``v`` down its columns.
"""

from replay.synth.render.casting import Hit, cast
from replay.synth.render.lens import Camera, Lens
from replay.synth.render.looks import draw_lens
from replay.synth.render.renderer import Renderer
from replay.synth.render.sensor import Sensor
from replay.synth.render.video import write_video

__all__ = ["Camera", "Hit", "Lens", "Renderer", "Sensor", "cast", "draw_lens", "write_video"]

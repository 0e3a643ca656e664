"""The events of a session, and the one timeline that they share.

Conventions, everywhere in the project:

* **Media time** is float seconds on the session's one timeline, shared by sound and picture,
  0 at the session's start. It comes from PTS x time base, never from an index.
* **Availability**: a frame at ``t`` is available at ``t``; an audio block over ``[t, t + d)`` at
  ``t + d``.
* **Points** are ``(x, y)`` as fractions of the *displayed* frame's width and height (rotation
  applied), origin top left. They may lie outside 0...1 when the thing lies outside the picture.
* Events say what they are about; *when they became known* is added by the stage that emitted
  them (:class:`streaming.stage.Item`), *when they were emitted* by the trace.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

Seconds: TypeAlias = float
Point: TypeAlias = tuple[float, float]
Homography: TypeAlias = tuple[
    tuple[float, float, float], tuple[float, float, float], tuple[float, float, float]
]
Side: TypeAlias = Literal["left", "right"]

SAMPLE_RATE = 16_000
"""Every audio block is mono float32 at this rate, in hertz."""


def _check_span(what: str, onset: Seconds, offset: Seconds) -> None:
    if not (math.isfinite(onset) and math.isfinite(offset) and onset <= offset):
        raise ValueError(f"{what} spans [{onset}, {offset})")


# --- what the source sends -------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class AudioBlock:
    """Sound over ``[onset, offset)``. Blocks follow one another without a gap or an overlap.

    Attributes:
        onset: Media time of the first sample.
        samples: Mono float32 in -1...1 at :data:`SAMPLE_RATE`, shape ``(n,)``.
    """

    onset: Seconds
    samples: NDArray[np.float32]

    @property
    def offset(self) -> Seconds:
        return self.onset + len(self.samples) / SAMPLE_RATE


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class VideoFrame:
    """One upright picture.

    Attributes:
        time: Media time of the frame's PTS.
        image: RGB uint8, shape ``(height, width, 3)``, display rotation applied.
        pixel_aspect: Width over height of one pixel (1.0 when square).
    """

    time: Seconds
    image: NDArray[np.uint8]
    pixel_aspect: float = 1.0

    @property
    def aspect(self) -> float:
        """Displayed width over displayed height."""
        height, width = self.image.shape[:2]
        return float(width * self.pixel_aspect / height)


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceNote:
    """Something the source noticed and that must not be lost silently.

    Attributes:
        kind: Stable name, counted in the trace: ``audio_gap``, ``broken_packet``, ``no_audio``,
            ``no_video``, ``time_jump``, ``dropped_frame`` and so on.
        onset: Where it begins.
        offset: Where it ends (equal to ``onset`` for an instant).
        text: One line for a person.
    """

    kind: str
    onset: Seconds
    offset: Seconds
    text: str


# --- hearing ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Speech:
    """Sound that the VAD passed on, inside one utterance (pre-roll included).

    Attributes:
        utterance: Number of the utterance, from 0.
        onset: Media time of the first sample.
        samples: As in :class:`AudioBlock`.
        voiced: False when the VAD heard no voice in it (a pause inside the utterance).
    """

    utterance: int
    onset: Seconds
    samples: NDArray[np.float32]
    voiced: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class SpeechStart:
    """The VAD opened an utterance; ``onset`` is where the voice begins (without pre-roll)."""

    utterance: int
    onset: Seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class SpeechEnd:
    """The VAD closed an utterance; ``offset`` is where the voice ends."""

    utterance: int
    offset: Seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class SpeechSeen:
    """The VAD has judged all sound before ``until``."""

    until: Seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class Word:
    """A committed word. Committed words are append-only, in order, and never overlap.

    Attributes:
        text: As written, without surrounding space; Chinese: one word, such as ``这个``.
        onset, offset: When it is spoken.
        utterance: Number of its utterance.
        language: ``en`` or ``zh`` (ISO 639-1), or another code that the user allowed.
        probability: The recogniser's own, 0...1.
        timed: False when the recogniser gave no time of its own and the span is interpolated.
    """

    text: str
    onset: Seconds
    offset: Seconds
    utterance: int = 0
    language: str = "en"
    probability: float = 1.0
    timed: bool = True

    def __post_init__(self) -> None:
        _check_span(f"word {self.text!r}", self.onset, self.offset)


@dataclass(frozen=True, slots=True, kw_only=True)
class Partial:
    """The hypothesis after the committed words of the open utterance; replaces the one before."""

    utterance: int
    words: tuple[Word, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class WordsSeen:
    """Every word with an onset before ``until`` has been committed."""

    until: Seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class Utterance:
    """A finished utterance with the text of the final pass.

    The final pass may differ from the committed words; decisions keep to the committed words,
    reports and model prompts take these.
    """

    index: int
    onset: Seconds
    offset: Seconds
    language: str
    words: tuple[Word, ...]

    def __post_init__(self) -> None:
        _check_span(f"utterance {self.index}", self.onset, self.offset)


DeicticKind: TypeAlias = Literal["object", "place", "anaphor"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Deictic:
    """A referring expression that can point: ``this one``, ``over there``, ``那里``.

    Attributes:
        index: From 0, in order of onset, over the session.
        text: The words of the expression, as spoken.
        onset, offset: Span of the whole expression.
        kind: ``object`` (this, that one, 这个), ``place`` (here, over there, 那里), or ``anaphor``
            (it, them, 它), which may refer without a stroke.
        probability: That the expression is meant deictically, 0...1.
        utterance: Number of its utterance.
        language: As in :class:`Word`.
    """

    index: int
    text: str
    onset: Seconds
    offset: Seconds
    kind: DeicticKind
    probability: float = 1.0
    utterance: int = 0
    language: str = "en"

    def __post_init__(self) -> None:
        _check_span(f"deictic {self.text!r}", self.onset, self.offset)


@dataclass(frozen=True, slots=True, kw_only=True)
class DeicticsSeen:
    """Every deictic with an onset before ``until`` has been announced."""

    until: Seconds


# --- seeing ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Hand:
    """One hand in one frame.

    Attributes:
        track: Identity over time; a new number after an exit or a swap.
        side: The wearer's (or partner's) left or right hand, mirroring undone.
        score: The detector's confidence, 0...1.
        landmarks: 21 points in MediaPipe's order (0 wrist, 5 index knuckle, 8 index tip).
        depths: 21 depths relative to the wrist, in frame widths, nearer is smaller.
        world: 21 points ``(x, y, z)`` in metres around the hand's centre, or empty.
        pointing: How much the pose points, 0...1.
    """

    track: int
    side: Side
    score: float
    landmarks: tuple[Point, ...]
    depths: tuple[float, ...] = ()
    world: tuple[tuple[float, float, float], ...] = ()
    pointing: float = 0.0

    @property
    def wrist(self) -> Point:
        return self.landmarks[0]

    @property
    def knuckle(self) -> Point:
        """Index finger's base joint (MCP)."""
        return self.landmarks[5]

    @property
    def tip(self) -> Point:
        """Index fingertip."""
        return self.landmarks[8]


@dataclass(frozen=True, slots=True, kw_only=True)
class HandsSeen:
    """The hands of one frame, and the watermark: hands are known up to ``time``.

    Attributes:
        time: The frame's.
        hands: At most two, by track number.
        aspect: Displayed width over height, to turn fractions into lengths.
    """

    time: Seconds
    hands: tuple[Hand, ...]
    aspect: float = 4 / 3


IDENTITY: Homography = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))


@dataclass(frozen=True, slots=True, kw_only=True)
class CameraMotion:
    """Where the background of this frame lies in the stabilised view.

    Attributes:
        time: The frame's.
        to_stable: Homography from this frame's points (fractions) to the stabilised view, which is
            the first frame of ``anchor``. Frames of one anchor compare with each other.
        anchor: Number of the stabilised view; it changes when the background was lost (cut, blur).
        confidence: Share of the background features that agree, 0...1.
    """

    time: Seconds
    to_stable: Homography = IDENTITY
    anchor: int = 0
    confidence: float = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Stroke:
    """The stroke phase of one pointing gesture (phases after Kendon, 1980), up to its apex.

    Announced as soon as the apex is certain and revised never; the end of the hold follows as
    :class:`StrokeEnd`.

    Attributes:
        index: From 0, in order of apex, over the session.
        onset: The hand leaves preparation.
        apex: The instant the gesture refers from: the approach ends.
        tip: Index fingertip at the apex.
        knuckle: Index finger's base joint at the apex: the pointing ray runs from here through
            ``tip``.
        side: Which hand.
        track: Its track.
        quality: How much it looks like a pointing stroke, 0...1.
    """

    index: int
    onset: Seconds
    apex: Seconds
    tip: Point
    knuckle: Point
    side: Side = "right"
    track: int = 0
    quality: float = 1.0

    def __post_init__(self) -> None:
        _check_span(f"stroke {self.index}", self.onset, self.apex)


@dataclass(frozen=True, slots=True, kw_only=True)
class StrokeEnd:
    """The hold of stroke ``index`` ended at ``offset`` (the apex itself if it did not hold)."""

    index: int
    offset: Seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class StrokesSeen:
    """Every stroke with an apex before ``until`` has been announced."""

    until: Seconds


# --- understanding ---------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Binding:
    """A decision, made once: this deictic refers through this stroke, or through none.

    Attributes:
        deictic: Index of the deictic, or None for a stroke that stands alone (the silent case).
        stroke: Index of the stroke, or None when the word refers without one.
        probability: That this is right, 0...1, calibrated on data.
        reason: What settled it: ``window`` (no stroke can come any more), ``margin`` (no allowed
            future could change it), ``deadline``, ``end`` (the stream ended).
    """

    deictic: int | None
    stroke: int | None
    probability: float
    reason: Literal["window", "margin", "deadline", "end"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Referent:
    """One referent of an answer, in order of execution.

    Attributes:
        kind: An object, or a place to put one.
        point: Where, on the frame named by the answer's ``frame_time``; None when abstained.
        time: When it was pointed at; None when abstained.
        label: The option's label (``A``, ``b``), or None when nothing could be said.
        description: A few words: ``yellow mug``.
        confidence: 0...1.
        deictic, stroke: What it came from.
    """

    kind: Literal["object", "space"]
    point: Point | None
    time: Seconds | None
    label: str | None = None
    description: str = ""
    confidence: float = 0.0
    deictic: int | None = None
    stroke: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What was meant.

    Attributes:
        turn: Number of the query that it answers.
        referents: In order of execution.
        frame_time: Media time of the frame that the points lie on.
        text: The answer in a sentence, in the speaker's language.
        final: False while it still streams in.
        model: Name of the model.
        raw: The model's own output, whole (the benchmark's output JSON for ``local``).
        reasoning: Why, in a sentence.
    """

    turn: int
    referents: tuple[Referent, ...]
    frame_time: Seconds
    text: str = ""
    final: bool = True
    model: str = "local"
    raw: str = ""
    reasoning: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A model is asked what was meant; answers to it have the same ``turn``.

    Attributes:
        turn: Number of the question.
        asked_at: Nothing in the question is later.
        deictics, strokes: Of each referent that is asked for, in order; None where there is none.
        last: Asked at the end of the stream, about what was left.
    """

    turn: int
    asked_at: Seconds
    deictics: tuple[int | None, ...] = ()
    strokes: tuple[int | None, ...] = ()
    last: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerStopped:
    """No more of the answer to ``turn`` comes: what was said of it so far does not count.

    Attributes:
        turn: Number of the question.
        reason: A newer question took its place (``superseded``), or the speaker spoke again
            (``interrupted``): the next question is then about this turn as well.
    """

    turn: int
    reason: Literal["superseded", "interrupted"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelFailed:
    """A model call that failed for good; told apart from a wrong answer."""

    turn: int
    model: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Skipped:
    """Work that was left out because the machine was behind (never in ``fast`` pace)."""

    what: str
    onset: Seconds
    offset: Seconds
    count: int = 1


Event: TypeAlias = (
    AudioBlock
    | VideoFrame
    | SourceNote
    | Speech
    | SpeechStart
    | SpeechEnd
    | SpeechSeen
    | Word
    | Partial
    | WordsSeen
    | Utterance
    | Deictic
    | DeicticsSeen
    | HandsSeen
    | CameraMotion
    | Stroke
    | StrokeEnd
    | StrokesSeen
    | Binding
    | Asked
    | Answer
    | AnswerStopped
    | ModelFailed
    | Skipped
)


@dataclass(slots=True)
class Counters:
    """Things that happened and how often, by stable name."""

    counts: dict[str, int] = field(default_factory=dict)

    def add(self, name: str, count: int = 1) -> None:
        self.counts[name] = self.counts.get(name, 0) + count

    def merge(self, others: Sequence[Counters]) -> None:
        for other in others:
            for name, count in other.counts.items():
                self.add(name, count)

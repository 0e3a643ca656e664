"""Builds the pipeline of a session from the settings under ``configs/``.

:class:`Engines` loads each model once; sessions that follow one another share it.
"""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from streaming.asking.asked import AskedModel
from streaming.asking.engine import AskingChoice, AskingEngine
from streaming.asking.opening import PROVIDERS, is_asked
from streaming.binding import Binder, BindingSettings
from streaming.component import Chain
from streaming.config import ConfigError, config_path, load
from streaming.deixis import DeixisFinder, load_lexicons
from streaming.deixis_lexicon import Lexicon
from streaming.ego_motion import EgoMotion, EgoMotionSettings
from streaming.events import Counters
from streaming.grounding import Grounder, GroundingSettings, Model, ModelError, Task
from streaming.grounding_prefix import Film
from streaming.hands import HandDetector, HandSettings, HandTracker
from streaming.session import Attending, Backlog
from streaming.stroke_settings import StrokeSettings
from streaming.strokes import StrokeDetector
from streaming.transcript import Transcript, TranscriptSettings
from streaming.vad import Vad, VadSettings, VoiceModel
from streaming.weights import HAND_LANDMARKER, SILERO_VAD, WHISPER_BASE, WHISPER_TINY_EN, Weights

LANGUAGES: dict[str, str] = {
    "en": "en",
    "eng": "en",
    "english": "en",
    "zh": "zh",
    "zh-hans": "zh",
    "zh-hant": "zh",
    "zh-cn": "zh",
    "zh-tw": "zh",
    "cmn": "zh",
    "chinese": "zh",
    "mandarin": "zh",
    "auto": "auto",
}
"""Names of languages that people type, and ours."""


_NAMED_BY_DIGEST = (
    "colours.toml",
    "lexicon.en.toml",
    "lexicon.zh.toml",
    "local.toml",
    "local_words.toml",
)
_MODELS = ("local", *PROVIDERS, "gemini-live", "scripted")
_NAMED_BY_DIGEST_LIVE = ("gemini_live.toml", "prompt_live.toml")


class LanguageError(ValueError):
    """A language that the pipeline does not know."""


def language_code(name: str) -> str:
    """``en``, ``zh`` or ``auto`` for any accepted name of it.

    Raises:
        LanguageError: If it is none of them.
    """
    code = LANGUAGES.get(name.strip().lower().replace("_", "-"))
    if code is None:
        raise LanguageError(f"language {name!r} is not known; use en, zh or auto")
    return code


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineSettings:
    """What a person chooses; everything else stands in ``configs/``.

    Attributes:
        model: ``local``, ``gemini:NAME``, ``openai:NAME``, ``scripted:FILE`` for answers from a
            recording, or ``gemini-live:NAME`` for a model that follows the stream itself.
        asr: A Whisper model: ``tiny.en``, ``base``, a folder or a name that faster-whisper knows;
            ``auto`` takes ``tiny.en`` for English and ``base`` for anything else.
        mirrored: The picture is mirrored, as in a selfie view.
        early: A turn may be asked before it is over, if the grounder's settings say so and the
            model does not follow the stream itself. In ``fast`` pace only where a live session is
            to be decided again.
        asking: How a model is asked that is put questions to: ``gemini:NAME``, ``openai:NAME`` or
            ``scripted:FILE`` of its recorded responses.
    """

    model: str = "local"
    asr: str = "auto"
    mirrored: bool = False
    early: bool = False
    asking: AskingChoice = field(default_factory=AskingChoice)

    def __post_init__(self) -> None:
        model_name(self.model)

    def described(self) -> dict[str, Any]:
        """What was chosen, for a record; how a model is asked stands there by itself."""
        return {"model": self.model, "asr": self.asr, "mirrored": self.mirrored}


@dataclass(frozen=True, slots=True, kw_only=True)
class Pipeline:
    """The stages of one session, ready to run.

    ``attending`` is the model when that follows the stream itself; ``asked`` has the counters of
    one that questions are put to. Close it in the end.
    """

    hearing: Chain
    seeing: Chain
    understanding: Chain
    model: Model
    backlog: Backlog
    attending: Attending | None = None
    asked: tuple[Counters, ...] = ()

    async def aclose(self) -> None:
        """Close the model's connections."""
        if isinstance(self.model, AskedModel):
            await self.model.aclose()


@dataclass(frozen=True, slots=True, kw_only=True)
class ComponentSettings:
    """The settings files, read."""

    vad: VadSettings
    transcript: TranscriptSettings
    hands: HandSettings
    ego_motion: EgoMotionSettings
    strokes: StrokeSettings
    binding: BindingSettings
    grounding: GroundingSettings


def read_settings(*, mirrored: bool = False, early: bool = False) -> ComponentSettings:
    """Read every component's settings file; without ``early`` no turn is asked early.

    Raises:
        ConfigError: If one is missing or says something that does not fit.
    """
    hands = load(HandSettings, config_path("hands.toml"))
    grounding = load(GroundingSettings, config_path("grounding.toml"))
    return ComponentSettings(
        vad=load(VadSettings, config_path("vad.toml")),
        transcript=load(TranscriptSettings, config_path("transcript.toml")),
        hands=dataclasses.replace(hands, mirrored=mirrored or hands.mirrored),
        ego_motion=load(EgoMotionSettings, config_path("ego_motion.toml")),
        strokes=load(StrokeSettings, config_path("strokes.toml")),
        binding=load(BindingSettings, config_path("binding.toml")),
        grounding=grounding if early else dataclasses.replace(grounding, early_after=0.0),
    )


def describe_settings(settings: EngineSettings) -> dict[str, Any]:
    """Every number that a run made now depends on, for its record."""
    return _description(settings, _components_of(settings))


def _components_of(settings: EngineSettings) -> ComponentSettings:
    # A model that follows the stream finds out by itself when it may answer.
    early = settings.early and model_name(settings.model)[0] != "gemini-live"
    return read_settings(mirrored=settings.mirrored, early=early)


def _description(settings: EngineSettings, components: ComponentSettings) -> dict[str, Any]:
    live = model_name(settings.model)[0] == "gemini-live"
    asking = asking_engine(settings)
    return {
        "engine": settings.described(),
        **({} if asking is None else {"asking": asking.description}),
        **{
            field.name: dataclasses.asdict(getattr(components, field.name))
            for field in dataclasses.fields(components)
        },
        # Too long to copy into every record: these are named by what is in them.
        "files": {
            name: hashlib.sha256(config_path(name).read_bytes()).hexdigest()[:16]
            for name in (*_NAMED_BY_DIGEST, *(_NAMED_BY_DIGEST_LIVE if live else ()))
        },
    }


def asking_engine(settings: EngineSettings) -> AskingEngine | None:
    """What opens the model when that is one which questions are put to.

    Raises:
        ConfigError: As :class:`~streaming.asking.engine.AskingEngine`.
    """
    return AskingEngine(settings.model, settings.asking) if is_asked(settings.model) else None


def _read_lexicons() -> dict[str, Lexicon]:
    try:
        return load_lexicons()
    except (LookupError, ValueError) as error:
        raise ConfigError(f"{config_path('lexicon.en.toml').parent}: {error}") from error


class Engines:
    """The models of a process, loaded when first needed.

    Args:
        settings: What the person chose.

    Attributes:
        settings: The same.
        description: As :func:`describe_settings`, of the settings files as they were read here.
    """

    def __init__(self, settings: EngineSettings) -> None:
        self.settings = settings
        self._components = _components_of(settings)
        self.description = _description(settings, self._components)
        self._asking = asking_engine(settings)
        self._recognizers: dict[str, Any] = {}
        self._lexicons = _read_lexicons()

    @contextlib.contextmanager
    def pipeline(
        self, *, task: Task, language: str, film: Film | None = None
    ) -> Iterator[Pipeline]:
        """The pipeline of one session; its hand detector is closed in the end.

        Args:
            task: What is asked of the stream.
            language: Spoken language.
            film: Where the stream can be had as a film, for a model that is shown one.

        Raises:
            WeightsError: If weights are missing.
            ModelError: If there is no such model.
        """
        settings = self._components
        transcript = Transcript(
            self._recognizer(language), language=language, settings=settings.transcript
        )
        with contextlib.ExitStack() as stack:
            model = self._model(language, stack)
            detector = stack.enter_context(contextlib.closing(self._hand_detector()))
            yield Pipeline(
                hearing=Chain(
                    [
                        ("vad", Vad(self._voice_model(), settings.vad)),
                        ("transcript", transcript),
                        ("deixis", DeixisFinder(self._lexicons)),
                    ]
                ),
                seeing=Chain(
                    [
                        ("hands", HandTracker(detector, settings.hands)),
                        ("ego_motion", EgoMotion(settings.ego_motion)),
                        ("strokes", StrokeDetector(settings.strokes)),
                    ]
                ),
                understanding=Chain(
                    [
                        ("binding", Binder(settings.binding)),
                        ("grounding", self._grounder(task, film)),
                    ]
                ),
                model=model,
                backlog=transcript,
                attending=model if isinstance(model, Attending) else None,
                asked=model.all_counters if isinstance(model, AskedModel) else (),
            )

    def _grounder(self, task: Task, film: Film | None) -> Grounder:
        asking = self._asking
        return Grounder(
            self._components.grounding,
            task=task,
            prefix=None if asking is None else asking.prefix,
            film=film if asking is not None and asking.wants_film else None,
        )

    def weights(self, language: str) -> dict[str, str]:
        """SHA-256 of the weights that a session in ``language`` uses, by name."""
        used: list[Weights] = [SILERO_VAD, HAND_LANDMARKER]
        name = self.asr_name(language)
        used += [one for one in (WHISPER_TINY_EN, WHISPER_BASE) if one.name == name]
        return {one.name: one.joined_sha256 or one.parts[0].sha256 for one in used}

    def asr_name(self, language: str) -> str:
        """The Whisper model for a language."""
        if self.settings.asr != "auto":
            return self.settings.asr
        return "tiny.en" if language == "en" else "base"

    def _recognizer(self, language: str) -> Any:
        # Loaded late: CTranslate2 takes a second, and a clip without sound needs none of it.
        from streaming.models.whisper import WhisperRecognizer, find_model

        name = self.asr_name(language)
        if name not in self._recognizers:
            self._recognizers[name] = WhisperRecognizer(find_model(name))
        return self._recognizers[name]

    def _voice_model(self) -> VoiceModel:
        from streaming.models.silero import Silero

        return Silero()

    def _hand_detector(self) -> HandDetector:
        from streaming.models.hands import open_hands

        return open_hands(self._components.hands)

    def _model(self, language: str, stack: contextlib.ExitStack) -> Model:
        if self._asking is not None:
            asked, responses = self._asking.open(os.environ)
            if responses is not None:
                stack.callback(responses.close)
            return asked
        name, argument = model_name(self.settings.model)
        if name == "scripted":
            from streaming.models.scripted import ScriptedModel

            return ScriptedModel(Path(argument))
        if name == "gemini-live":
            from streaming.models.gemini_live import open_live

            return open_live(argument, keys=os.environ, language=language)
        from streaming.models.local import LocalModel

        return LocalModel()


def model_name(chosen: str) -> tuple[str, str]:
    """A model's name and what it is opened with (``scripted:FILE``, ``gemini:NAME`` and so on).

    Raises:
        ModelError: If there is no such model.
    """
    name, _, argument = chosen.partition(":")
    if (name == "local") == bool(argument) or name not in _MODELS:
        raise ModelError(
            f"no model {chosen!r}; use local, gemini:NAME, openai:NAME, gemini-live:NAME or "
            "scripted:FILE"
        )
    return name, argument

"""Published EgoPoint-Bench numbers, to print beside ours.

Accuracy in percent over the simulated test set (1,929 items), the real one (1,162), and both
together, by model. They are taken from a public summary of the paper (arXiv 2604.21461) and were
not checked against its own table; read there before you quote one.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Published:
    """One system.

    Attributes:
        system: Its name; ``+ LoRA`` when it was trained on the benchmark's simulated pictures.
        sim, real, both: Percent.
    """

    system: str
    sim: float
    real: float
    both: float


PUBLISHED: tuple[Published, ...] = (
    Published(system="Human", sim=95.80, real=96.00, both=95.90),
    Published(system="Gemini 3 Flash", sim=57.21, real=71.84, both=62.71),
    Published(system="Gemini 3 Pro", sim=56.44, real=72.00, both=62.29),
    Published(system="GPT-5.2 Instant", sim=54.80, real=66.76, both=59.29),
    Published(system="GPT-5 mini", sim=57.66, real=60.57, both=58.75),
    Published(system="InternVL3.5-2B", sim=51.74, real=53.73, both=52.49),
    Published(system="InternVL3.5-2B + LoRA", sim=75.43, real=62.03, both=70.39),
    Published(system="InternVL3.5-8B", sim=52.62, real=57.09, both=54.30),
    Published(system="GLM-4.6V-Flash", sim=53.29, real=56.42, both=54.47),
    Published(system="GLM-4.6V-Flash + LoRA", sim=74.86, real=61.26, both=69.74),
    Published(system="LLaVA-NeXT-7B", sim=48.17, real=46.44, both=47.52),
    Published(system="LLaVA-NeXT-7B + LoRA", sim=80.93, real=59.64, both=72.93),
    Published(system="LLaVA-1.5-7B", sim=48.82, real=47.19, both=48.21),
    Published(system="LLaVA-1.5-7B + LoRA", sim=73.18, real=54.54, both=66.17),
    Published(system="Random", sim=31.14, real=28.94, both=30.24),
)
SIM_ITEMS, REAL_ITEMS = 1929, 1162

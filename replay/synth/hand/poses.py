"""Named poses of the fingers."""

from __future__ import annotations

from typing import Final

from replay.synth.hand.fingers import Finger, Fingers, Thumb

POINTING_TUCKED: Final = Fingers(
    thumb=Thumb(flexion=34.0, abduction=-18.0, mcp=32.0, ip=40.0),
    index=Finger.bent(4.0, 4.0),
    middle=Finger.bent(72.0, 98.0),
    ring=Finger.bent(76.0, 98.0),
    little=Finger.bent(76.0, 94.0),
)
POINTING_OUT: Final = Fingers(
    thumb=Thumb(flexion=0.0, abduction=4.0, mcp=2.0, ip=2.0),
    index=Finger.bent(2.0, 3.0),
    middle=Finger.bent(68.0, 96.0),
    ring=Finger.bent(74.0, 98.0),
    little=Finger.bent(74.0, 92.0),
)
POINTING_LOOSE: Final = Fingers(
    thumb=Thumb(flexion=16.0, abduction=-10.0, mcp=18.0, ip=20.0),
    index=Finger.bent(8.0, 8.0),
    middle=Finger.bent(42.0, 62.0),
    ring=Finger.bent(54.0, 78.0),
    little=Finger.bent(58.0, 76.0),
)
POINTING_CASUAL: Final = Fingers(
    thumb=Thumb(flexion=14.0, abduction=-14.0, mcp=14.0, ip=12.0),
    index=Finger.bent(16.0, 26.0),
    middle=Finger.bent(56.0, 70.0),
    ring=Finger.bent(60.0, 76.0),
    little=Finger.bent(60.0, 74.0),
)
POINTING: Final = (POINTING_TUCKED, POINTING_OUT, POINTING_LOOSE, POINTING_CASUAL)
"""Ways to point, from clear to careless: thumb tucked, thumb out, middle finger half open, index
half bent."""

RELAXED: Final = Fingers(
    thumb=Thumb(flexion=10.0, abduction=-10.0, mcp=12.0, ip=14.0),
    index=Finger.bent(18.0, 26.0),
    middle=Finger.bent(24.0, 32.0),
    ring=Finger.bent(28.0, 36.0),
    little=Finger.bent(28.0, 34.0, abduction=4.0),
)
FLAT: Final = Fingers(
    thumb=Thumb(flexion=-8.0, abduction=-4.0, mcp=4.0, ip=4.0),
    index=Finger.bent(2.0, 6.0, abduction=3.0),
    middle=Finger.bent(2.0, 6.0),
    ring=Finger.bent(2.0, 6.0, abduction=2.0),
    little=Finger.bent(0.0, 6.0, abduction=4.0),
)
RESTING: Final = (RELAXED, FLAT)

OPEN: Final = Fingers(
    thumb=Thumb(flexion=-6.0, abduction=8.0, mcp=0.0, ip=0.0),
    index=Finger.bent(0.0, 4.0, abduction=9.0),
    middle=Finger.bent(0.0, 4.0),
    ring=Finger.bent(0.0, 4.0, abduction=7.0),
    little=Finger.bent(0.0, 4.0, abduction=12.0),
)
FIST: Final = Fingers(
    thumb=Thumb(flexion=38.0, abduction=-24.0, mcp=34.0, ip=44.0),
    index=Finger.bent(74.0, 100.0),
    middle=Finger.bent(78.0, 102.0),
    ring=Finger.bent(80.0, 102.0),
    little=Finger.bent(78.0, 98.0),
)

FUMBLING: Final = (
    Fingers(
        thumb=Thumb(flexion=26.0, abduction=-16.0, mcp=20.0, ip=26.0),
        index=Finger.bent(44.0, 46.0),
        middle=Finger.bent(48.0, 48.0),
        ring=Finger.bent(40.0, 44.0),
        little=Finger.bent(34.0, 40.0, abduction=6.0),
    ),
    Fingers(
        thumb=Thumb(flexion=30.0, abduction=-22.0, mcp=26.0, ip=34.0),
        index=Finger.bent(52.0, 60.0),
        middle=Finger.bent(38.0, 40.0),
        ring=Finger.bent(50.0, 58.0),
        little=Finger.bent(48.0, 52.0),
    ),
    Fingers(
        thumb=Thumb(flexion=18.0, abduction=-6.0, mcp=12.0, ip=12.0),
        index=Finger.bent(30.0, 34.0, abduction=4.0),
        middle=Finger.bent(52.0, 60.0),
        ring=Finger.bent(46.0, 56.0),
        little=Finger.bent(30.0, 36.0, abduction=8.0),
    ),
    Fingers(
        thumb=Thumb(flexion=24.0, abduction=-26.0, mcp=30.0, ip=20.0),
        index=Finger.bent(58.0, 38.0),
        middle=Finger.bent(60.0, 42.0),
        ring=Finger.bent(58.0, 50.0),
        little=Finger.bent(52.0, 50.0),
    ),
)
"""Keyframes of fingers that work at something small; go through them in any order."""

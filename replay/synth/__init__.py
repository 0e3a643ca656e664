"""Egocentric pointing clips made from nothing, with exact truth.

A clip is drawn from its seed: a table scene (:mod:`.scene`), what is said (:mod:`.wording`,
:mod:`.speech`), when and how the hand points (:mod:`.motion`, :mod:`.hand`), and the picture that a
head-mounted camera takes of it (:mod:`.render`). The same seed gives the same bytes.

World coordinates are metres: ``x`` to the wearer's right, ``y`` away from the wearer, ``z`` up. The
table's top is ``z = 0``; the middle of the edge nearest to the wearer is the origin.
"""

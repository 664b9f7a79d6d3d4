"""The linear ordering problem: all linear orders of least cost, given what each pair costs the wrong way round.

``excess[a, b]`` is what it costs to place a before b beyond the cheaper way, so at least one of ``excess[a, b]`` and
``excess[b, a]`` is 0. All values are whole numbers held as float64, small enough that sums are exact.
"""

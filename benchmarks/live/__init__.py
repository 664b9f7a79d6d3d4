"""The live experiment: a preregistered comparison of meta-judges, for anybody with a key.

``setup`` is what is asked and compared, ``plan`` that fixed together with the sample before the first call, ``records``
what is kept of a run, ``answers`` the analysis, ``folder`` the result with its digests, ``signing``, ``verifying`` and
``merging`` what others do with it.
"""

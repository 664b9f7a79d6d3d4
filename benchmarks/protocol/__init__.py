"""The open protocol: judgments whose labels may be withheld, files of scores, and the table of vetters and judges.

``withholding`` publishes judgments with commitments to their labels, ``items`` joins them again, ``scores`` is the
format of an entry and its checks, ``standing`` what an entry is worth, ``ranking`` who is better than whom, ``entries``
our own.
"""

"""What became of a judgment, a clash or a case in the end, by a machine or by people, and the events that say so."""

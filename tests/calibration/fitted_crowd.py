import numpy as np

FREE = ["order", "strength", "peers"]


def values(predictions):
    return np.ma.getdata(predictions.probabilities)

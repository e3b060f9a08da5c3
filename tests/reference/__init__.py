"""The papers' algorithms in slow, obvious NumPy, for the tests to compare with.

Nothing here imports skgpb: an error would have to be made twice to stay unnoticed.
"""

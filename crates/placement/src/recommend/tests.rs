//! The recommender on a machine written by hand, where every rule has a case of its own.

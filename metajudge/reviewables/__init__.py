"""What people review: judgments, clashes and cases as one object, with a blind and a full view and one decision."""

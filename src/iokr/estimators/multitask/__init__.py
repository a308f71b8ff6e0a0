"""Many tasks at once, coupled by a similarity that is given, estimated or learned."""

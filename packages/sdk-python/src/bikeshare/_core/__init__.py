"""The logic of both clients, without I/O: generators that yield an effect (`effects`) and are sent its outcome."""

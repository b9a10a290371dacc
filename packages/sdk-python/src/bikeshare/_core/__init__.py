"""What both clients do, without I/O: generators that yield what is to be done (`effects`) and are sent the outcome."""

"""Child processes: started, read, ended in bounded time, started again after a failure."""

package program

// UsageError says that a call cannot work as it was made: the exit code is 2.
type UsageError struct{ Err error }

func (e *UsageError) Error() string { return e.Err.Error() }

// Unwrap is what is wrong.
func (e *UsageError) Unwrap() error { return e.Err }

func usage(err error) error { return &UsageError{err} }

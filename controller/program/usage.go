package program

// UsageError is the error of a call that cannot work as it was made: the exit code is 2.
type UsageError struct{ Err error }

// Error returns what is wrong, as a sentence for the user.
func (e *UsageError) Error() string { return e.Err.Error() }

// Unwrap returns the error behind it.
func (e *UsageError) Unwrap() error { return e.Err }

func usage(err error) error { return &UsageError{err} }

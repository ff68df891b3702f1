package command

import "errors"

// ExitError ends the program with a specific code. Without Err it prints nothing: everything was already reported.
type ExitError struct {
	Code int
	Err  error
}

// UsageError returns an error for a call that cannot work as it was made.
func UsageError(err error) error { return &ExitError{Code: 2, Err: err} }

// CodeOf returns the exit code for an error of a command that was called correctly.
func CodeOf(err error) int {
	var ended *ExitError
	if errors.As(err, &ended) {
		return ended.Code
	}
	return 1
}

func (e *ExitError) Error() string {
	if e.Err == nil {
		return ""
	}
	return e.Err.Error()
}

func (e *ExitError) Unwrap() error { return e.Err }

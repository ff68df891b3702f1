package cli

import "errors"

// exitError ends the program with a specific code. Without err it prints nothing: everything was already reported.
type exitError struct {
	code int
	err  error
}

// usageError returns an error for a call that cannot work as it was made.
func usageError(err error) error { return &exitError{code: 2, err: err} }

// codeOf returns the exit code for an error of a command that was called correctly.
func codeOf(err error) int {
	var ended *exitError
	if errors.As(err, &ended) {
		return ended.code
	}
	return 1
}

func (e *exitError) Error() string {
	if e.err == nil {
		return ""
	}
	return e.err.Error()
}

func (e *exitError) Unwrap() error { return e.err }

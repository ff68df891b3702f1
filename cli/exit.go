package cli

import "errors"

// exitError ends the program with a code of its own. Without err it ends without a word: all has been said.
type exitError struct {
	code int
	err  error
}

// usageError says that a call cannot work as it was made.
func usageError(err error) error { return &exitError{code: 2, err: err} }

// codeOf an error that ends a command that was called as it can be.
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

package supervise

import (
	"fmt"
	"io"
	"os"
)

// lifelineVariable tells a child that its standard input is a lifeline. A part
// that somebody starts by hand has no lifeline and must not end because its
// standard input is empty.
const lifelineVariable = "LOCALCLUSTER_LIFELINE"

// FollowParent ends this process as soon as its parent is gone, if the parent
// asked for that when it started this process. The parent holds the other end
// of the pipe; the kernel closes it however the parent ends, on every platform.
func FollowParent() {
	if os.Getenv(lifelineVariable) == "" {
		return
	}
	go func() {
		// Nothing is ever written: the copy returns at the end of the parent, and
		// an unreadable pipe means the same.
		_, _ = io.Copy(io.Discard, os.Stdin)
		fmt.Fprintln(os.Stderr, "the supervisor is gone, so this part ends too")
		os.Exit(1)
	}()
}

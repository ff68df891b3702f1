//go:build !unix

package supervise

import "os"

// inherited is empty where a child cannot inherit further files.
func inherited() []*os.File { return nil }

package process

import (
	"os/exec"
	"time"
)

// patience is how long an interrupted command may take to end: go removes its own temporary files.
const patience = 5 * time.Second

// Interruptible makes the end of the context interrupt a command of exec.CommandContext, together with the processes that it starts.
// A command that has not ended a few seconds later is killed, or no longer waited for.
func Interruptible(command *exec.Cmd) {
	Separate(command)
	interrupt(command)
	command.WaitDelay = patience
}

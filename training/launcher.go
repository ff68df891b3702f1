package training

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"stoic/schema"
)

// AnnotationLauncherMinWorkers is the annotation of an MPIJob that says with how many workers its launcher starts.
const AnnotationLauncherMinWorkers = "training.kubeflow.org/launcher-min-workers"

// LauncherMinWorkers returns AnnotationLauncherMinWorkers as a setting.
func LauncherMinWorkers() NumberAnnotation {
	return NumberAnnotation{Name: AnnotationLauncherMinWorkers, MostOf: "Worker",
		Means: "The launcher is created when so many workers run, and a gang scheduler places so many together"}
}

// LauncherCommand is what the command line of a launcher says about its hosts. Elastic Horovod asks a script for the hosts that
// run, again and again; any other launcher reads its hosts once.
type LauncherCommand struct {
	// DiscoversHosts: the command line names a script that discovers hosts.
	DiscoversHosts bool
	// Processes is the number of processes that it starts with; 0: the command line does not say it, or not as a number.
	Processes int
	// Argument is the argument that says it, and Field the field of the container that holds the argument.
	Argument, Field string
}

// LauncherCommandOf reads the command and the arguments of the first container of a pod template, which may be anything. It
// splits each text at white space, as it may be a script for a shell. Each character is read once.
//
//	argument                                  means
//	--host-discovery-script                   the script that discovers hosts
//	--min-np, --min-num-proc                  the minimum number of processes
//	-np, --num-proc                           the same, if there is no other minimum
func LauncherCommandOf(template []byte) LauncherCommand {
	var pod struct {
		Spec struct {
			Containers []struct {
				Command []string `json:"command"`
				Args    []string `json:"args"`
			} `json:"containers"`
		} `json:"spec"`
	}
	_ = json.Unmarshal(template, &pod) // continues behind what it cannot read
	if len(pod.Spec.Containers) == 0 {
		return LauncherCommand{}
	}
	reader := commandReader{}
	reader.readTexts("command", pod.Spec.Containers[0].Command)
	reader.readTexts("args", pod.Spec.Containers[0].Args)
	return reader.command()
}

// commandReader reads a command line word by word.
type commandReader struct {
	field          string // that is being read
	option         string // whose value is the next word; "" if there is none
	discoversHosts bool
	minimum, all   processes
}

// processes is an option that says a number of processes. The zero value: it is not there.
type processes struct {
	number          int
	argument, field string
}

func (r *commandReader) readTexts(field string, texts []string) {
	r.field = field
	for _, text := range texts {
		for line := range strings.SplitSeq(text, "\n") {
			for word := range strings.FieldsSeq(line) {
				if strings.HasPrefix(word, "#") {
					break // a comment
				}
				r.readWord(strings.Trim(word, "\"'`();&|\\"))
			}
		}
	}
}

func (r *commandReader) readWord(word string) {
	if word == "" {
		return // such as the end of a line that continues
	}
	if r.option != "" && !strings.HasPrefix(word, "-") {
		r.set(r.option, word)
		r.option = ""
		return
	}
	name, value, hasValue := strings.Cut(word, "=")
	r.option = name
	if hasValue {
		r.set(name, strings.Trim(value, "\"'"))
		r.option = ""
		return
	}
	r.set(name, "")
}

// set sets an option. The first value counts: later ones may belong to the program that the launcher starts.
func (r *commandReader) set(option, value string) {
	switch option {
	case "--host-discovery-script":
		r.discoversHosts = true
	case "--min-np", "--min-num-proc":
		r.minimum.set(r.field, option, value)
	case "-np", "--num-proc":
		r.all.set(r.field, option, value)
	}
}

func (p *processes) set(field, argument, value string) {
	if p.number > 0 {
		return
	}
	p.field = field
	p.argument = argument
	number, err := strconv.ParseInt(value, 10, 32)
	switch {
	case errors.Is(err, strconv.ErrRange) && number > 0:
		p.number = math.MaxInt32
	case err == nil && number > 0:
		p.number = int(number)
	}
}

func (r *commandReader) command() LauncherCommand {
	chosen := r.minimum
	if chosen.argument == "" {
		chosen = r.all
	}
	return LauncherCommand{DiscoversHosts: r.discoversHosts, Processes: chosen.number, Argument: chosen.argument, Field: chosen.field}
}

// SetLauncherMinimum sets the minimum of the workers of an MPI job: the number with which its launcher starts. Each worker
// takes slots processes; 0 counts as 1.
//
//	the job                                            the minimum
//	has the annotation                                 what it says
//	its launcher discovers hosts, and says a number    workers for that many processes, at most all
//	else                                               all workers
func (j *Job) SetLauncherMinimum(launcher, worker string, slots int) {
	workers := j.ReplicaType(worker)
	if workers == nil {
		return
	}
	if annotated := j.Annotations[AnnotationLauncherMinWorkers]; annotated > 0 {
		workers.Minimum = int(min(annotated, int64(workers.Replicas)))
		return
	}
	command := j.launcherCommand(launcher)
	if !command.DiscoversHosts || command.Processes == 0 {
		return
	}
	slots = max(slots, 1)
	needed := (command.Processes-1)/slots + 1
	workers.Minimum = min(needed, workers.Replicas)
}

func (j *Job) launcherCommand(launcher string) LauncherCommand {
	rtype := j.ReplicaType(launcher)
	if rtype == nil {
		return LauncherCommand{}
	}
	return LauncherCommandOf(rtype.Template)
}

// WarnOfLauncherMinimum warns of a launcher that discovers hosts and waits for more processes than all hosts take. hosts is
// the number of replicas, the launcher included if it is one.
func (j *Job) WarnOfLauncherMinimum(launcher string, hosts, slots int) []schema.Problem {
	command := j.launcherCommand(launcher)
	slots = max(slots, 1)
	if !command.DiscoversHosts || hosts == 0 || int64(command.Processes) <= int64(hosts)*int64(slots) {
		return nil
	}
	return []schema.Problem{{Code: schema.Conflict,
		Path:  "spec." + j.Kind.ReplicaSpecsField + "." + launcher + ".template.spec.containers[0]." + command.Field,
		Found: fmt.Sprintf("%s %d, more than the %d processes that %d hosts of %d slots take", command.Argument, command.Processes, hosts*slots, hosts, slots),
		Hint:  "the launcher would wait forever; ask for fewer processes, or add workers"}}
}

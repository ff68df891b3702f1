package program

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"
)

// secret returns a pod with a password in it.
func secret() *corev1.Pod {
	pod := &corev1.Pod{}
	pod.Spec.Containers = []corev1.Container{{Env: []corev1.EnvVar{{Name: "PASSWORD", Value: "hunter2"}}}}
	return pod
}

// logged returns what write logs.
func logged(t *testing.T, encoder string, write func(*zap.Logger)) string {
	t.Helper()
	var out bytes.Buffer
	flags := LogFlags{Level: "info", Encoder: encoder}
	log, err := flags.Logger(&out)
	if err != nil {
		t.Fatal(err)
	}
	write(log)
	return out.String()
}

func TestObjectsAreNotLogged(t *testing.T) {
	for name, write := range map[string]func(*zap.Logger){
		"field":         func(l *zap.Logger) { l.Info("x", zap.Any("object", secret())) },
		"with":          func(l *zap.Logger) { l.With(zap.Any("obj", secret())).Info("x") },
		"with twice":    func(l *zap.Logger) { l.With(zap.Int("n", 1)).With(zap.Any("event", secret())).Warn("x") },
		"named":         func(l *zap.Logger) { l.Named("sub").Error("x", zap.Any("newObj", secret())) },
		"lazily":        func(l *zap.Logger) { l.WithLazy(zap.Any("oldObj", secret())).Info("x") },
		"sugared":       func(l *zap.Logger) { l.Sugar().Infow("x", "item", *secret()) },
		"reflected":     func(l *zap.Logger) { l.Info("x", zap.Reflect("object", secret())) },
		"stringer":      func(l *zap.Logger) { l.Info("x", zap.Stringer("object", secret())) },
		"library":       func(*zap.Logger) { klog.ErrorS(errors.New("e"), "x", "object", secret()) },
		"library, with": func(*zap.Logger) { klog.Background().WithValues("obj", secret()).Info("x") },
	} {
		for _, encoder := range []string{"json", "console"} {
			t.Run(name+" "+encoder, func(t *testing.T) {
				if text := logged(t, encoder, write); strings.Contains(text, "hunter2") || !strings.Contains(text, "(not logged)") {
					t.Errorf("logged: %s", text)
				}
			})
		}
	}
}

// TestTextsAreBounded: an API server's answer of megabytes is a log line of a few kilobytes, whichever way it comes into the log.
func TestTextsAreBounded(t *testing.T) {
	long := strings.Repeat("ä", 1<<20)
	for name, write := range map[string]func(*zap.Logger){
		"error":          func(l *zap.Logger) { l.Warn("x", zap.Error(fmt.Errorf("refused: %s", long))) },
		"named error":    func(l *zap.Logger) { l.Warn("x", zap.NamedError("cause", errors.New(long))) },
		"text":           func(l *zap.Logger) { l.Info("x", zap.String("why", long)) },
		"name of object": func(l *zap.Logger) { l.Info("x", zap.String("object", long)) },
		"with":           func(l *zap.Logger) { l.With(zap.String("why", long)).Info("x") },
		"message":        func(l *zap.Logger) { l.Info(long) },
		"library":        func(*zap.Logger) { klog.ErrorS(errors.New(long), long) },
	} {
		for _, encoder := range []string{"json", "console"} {
			t.Run(name+" "+encoder, func(t *testing.T) {
				line := logged(t, encoder, write)
				if n := len(line); n < longestText || n > 3*longestText || !utf8.ValidString(line) || !strings.Contains(line, "ä...") {
					t.Errorf("a line of %d bytes: %.100s", n, line)
				}
			})
		}
	}
}

// TestLevelWhileItRuns: a file changes the level, and an invalid level changes nothing.
func TestLevelWhileItRuns(t *testing.T) {
	var out bytes.Buffer
	flags := LogFlags{Level: "info", Encoder: "json", LevelFile: filepath.Join(t.TempDir(), "log-level")}
	log, err := flags.Logger(&out)
	if err != nil {
		t.Fatal(err)
	}
	last := ""
	for _, step := range []struct {
		text  string // of the file; "-" for none
		level zapcore.Level
		lines int // that say so
	}{
		{"-", zap.InfoLevel, 0},
		{"debug\n", zap.DebugLevel, 1},
		{"debug", zap.DebugLevel, 0},
		{"error", zap.ErrorLevel, 1},
		{"error", zap.ErrorLevel, 0},
		{"loud", zap.ErrorLevel, 1},
		{"loud", zap.ErrorLevel, 0},
		{strings.Repeat("x", 1<<16), zap.ErrorLevel, 1},
		{"\xff\xfe", zap.ErrorLevel, 1},
		{"6", zapcore.Level(-6), 1},
		{" \n", zap.InfoLevel, 1},
		{"WARN", zap.WarnLevel, 1},
		{"-", zap.InfoLevel, 1},
	} {
		err := os.WriteFile(flags.LevelFile, []byte(step.text), 0o600)
		if step.text == "-" {
			if err = os.Remove(flags.LevelFile); errors.Is(err, fs.ErrNotExist) {
				err = nil
			}
		}
		if err != nil {
			t.Fatal(err)
		}
		out.Reset()
		last = flags.readLevel(last, log)
		if lines := strings.Count(out.String(), "\n"); flags.level.Level() != step.level || log.Core().Enabled(step.level-1) || lines != step.lines {
			t.Errorf("%.10q: level %v, want %v; %d lines, want %d: %s", step.text, flags.level.Level(), step.level, lines, step.lines, out.String())
		}
	}
}

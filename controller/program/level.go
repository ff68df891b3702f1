package program

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

// levelEvery is how often the file with the level is read. The kubelet takes about a minute to update a file of a ConfigMap.
const levelEvery = 5 * time.Second

// levelOf returns the level of a word or a number; a higher number logs more.
func levelOf(text string) (zapcore.Level, error) {
	if n, err := strconv.Atoi(text); err == nil {
		return zapcore.Level(-min(max(n, 0), 127)), nil
	}
	level, err := zapcore.ParseLevel(text)
	if err != nil {
		return level, fmt.Errorf(`found %.40q, must be "debug", "info", "warn", "error" or a number`, text)
	}
	return level, nil
}

// FollowLevel keeps the level of the logger as the file says, until ctx ends. If the file is missing or empty, the level of the flag
// holds; an invalid level changes nothing. It is a file and no HTTP endpoint: the API server has authorized each user who can write it, and a
// change outlives the process and reaches all processes.
func (f *LogFlags) FollowLevel(ctx context.Context, log *zap.Logger) {
	if f.LevelFile == "" {
		return
	}
	tick := time.NewTicker(levelEvery)
	defer tick.Stop()
	for last := ""; ctx.Err() == nil; {
		last = f.readLevel(last, log)
		select {
		case <-ctx.Done():
		case <-tick.C:
		}
	}
}

// readLevel applies what the file says, if that has changed since last time, and returns it.
func (f *LogFlags) readLevel(last string, log *zap.Logger) (says string) {
	says, err := f.levelFile()
	if says == last && err == nil {
		return says
	}
	level := zapcore.InvalidLevel
	if err == nil {
		level, err = levelOf(says)
	}
	if err != nil {
		if says = "(wrong) " + err.Error(); says != last {
			log.Error("the level of the log is not changed", zap.String("file", f.LevelFile), zap.Error(err))
		}
		return says
	}
	if was := f.level.Level(); was != level {
		// This line is logged at the more verbose of the two levels, so that it is seen.
		f.level.SetLevel(min(was, level))
		log.Log(min(was, level, zapcore.ErrorLevel), "the level of the log is changed", zap.String("file", f.LevelFile), zap.Stringer("from", was), zap.Stringer("to", level))
		f.level.SetLevel(level)
	}
	return says
}

// levelFile returns the level that holds now, as text.
func (f *LogFlags) levelFile() (string, error) {
	file, err := os.Open(f.LevelFile)
	if errors.Is(err, fs.ErrNotExist) {
		return f.Level, nil
	}
	if err != nil {
		return "", fmt.Errorf("open it: %w", err)
	}
	defer file.Close()
	text := make([]byte, 64)
	n, err := file.Read(text)
	if err != nil && n == 0 && !errors.Is(err, io.EOF) {
		return "", fmt.Errorf("read it: %w", err)
	}
	if says := strings.TrimSpace(string(text[:n])); says != "" {
		return says, nil
	}
	return f.Level, nil
}

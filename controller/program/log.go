package program

import (
	"fmt"
	"io"

	"github.com/go-logr/zapr"
	"github.com/spf13/pflag"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"k8s.io/klog/v2"

	"stoic/schema"
)

// LogFlags choose how the operator logs. They have the names that operators commonly use.
type LogFlags struct {
	Level, Encoder string
	Devel          bool
	// LevelFile holds a level that replaces Level while the file exists.
	LevelFile string

	level zap.AtomicLevel // of the logger that was made
}

// Register adds them to the flags of a program.
func (f *LogFlags) Register(flags *pflag.FlagSet) {
	flags.StringVar(&f.Level, "zap-log-level", "info", `"debug", "info", "warn", "error", or a number of which a higher one logs more`)
	flags.StringVar(&f.LevelFile, "zap-log-level-file", "", "file with a level that takes the place of --zap-log-level while the program runs; it need not exist, and is read every few seconds")
	flags.StringVar(&f.Encoder, "zap-encoder", "json", `"json" or "console"`)
	flags.BoolVar(&f.Devel, "zap-devel", false, "log for a person: console encoder")
	flags.String("zap-stacktrace-level", "", "accepted, without effect")
	flags.String("zap-time-encoding", "", "accepted, without effect")
	_ = flags.MarkHidden("zap-stacktrace-level") // defined above
	_ = flags.MarkHidden("zap-time-encoding")
}

// Ignores reports whether a flag is accepted without effect.
func (f *LogFlags) Ignores(name string) bool {
	return name == "zap-stacktrace-level" || name == "zap-time-encoding"
}

// Logger makes the program's logger and gives it to klog, through which the Kubernetes libraries log.
func (f *LogFlags) Logger(out io.Writer) (*zap.Logger, error) {
	level, err := levelOf(f.Level)
	if err != nil {
		return nil, usage(fmt.Errorf("--zap-log-level: %w", err))
	}
	f.level = zap.NewAtomicLevelAt(level)
	config := zap.NewProductionEncoderConfig()
	config.EncodeTime = zapcore.RFC3339NanoTimeEncoder
	config.EncodeDuration = zapcore.StringDurationEncoder
	var encoder zapcore.Encoder
	switch {
	case f.Encoder == "console" || f.Devel:
		encoder = zapcore.NewConsoleEncoder(config)
	case f.Encoder == "json":
		encoder = zapcore.NewJSONEncoder(config)
	default:
		return nil, usage(fmt.Errorf(`--zap-encoder: found %q, must be "json" or "console"`, f.Encoder))
	}
	core := zapcore.NewCore(encoder, zapcore.Lock(zapcore.AddSync(out)), f.level)
	log := zap.New(withoutObjects{core})
	klog.SetLoggerWithOptions(zapr.NewLogger(log.Named("client-go")), klog.ContextualLogger(true))
	return log, nil
}

// longestText bounds each text of a log line, in bytes. An API server that refuses an object repeats every invalid value of it in its
// answer, which may be megabytes.
const longestText = 4 << 10

// withoutObjects keeps whole objects out of the log: client-go attaches them to some of its errors, with the
// values of environment variables in them. It cuts texts at longestText.
type withoutObjects struct{ zapcore.Core }

func (c withoutObjects) With(fields []zapcore.Field) zapcore.Core {
	return withoutObjects{c.Core.With(scrub(fields))}
}

func (c withoutObjects) Check(e zapcore.Entry, ce *zapcore.CheckedEntry) *zapcore.CheckedEntry {
	if c.Enabled(e.Level) {
		return ce.AddCore(e, c)
	}
	return ce
}

func (c withoutObjects) Write(e zapcore.Entry, fields []zapcore.Field) error {
	e.Message = schema.Cut(e.Message, longestText)
	return c.Core.Write(e, scrub(fields))
}

func scrub(fields []zapcore.Field) []zapcore.Field {
	kept := make([]zapcore.Field, 0, len(fields))
	for _, f := range fields {
		switch f.Key {
		case "object", "event", "obj", "item", "oldObj", "newObj":
			if f.Type != zapcore.StringType {
				f = zap.String(f.Key, "(not logged)")
			}
		}
		kept = append(kept, short(f))
	}
	return kept
}

// short cuts the text of a field. Stacks of panics are bounded by the runtime.
func short(f zapcore.Field) zapcore.Field {
	switch f.Type {
	case zapcore.StringType:
		f.String = schema.Cut(f.String, longestText)
	case zapcore.ErrorType:
		if err, ok := f.Interface.(error); ok && len(err.Error()) > longestText {
			return zap.String(f.Key, schema.Cut(err.Error(), longestText))
		}
	}
	return f
}

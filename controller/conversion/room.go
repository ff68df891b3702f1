package conversion

import (
	"context"
	"errors"
	"io"
	"slices"

	"golang.org/x/sync/semaphore"
)

// piece is how many bytes of a review are read before room is taken for them, for each connection.
const piece = 16 << 10

// errNoRoom: other reviews take all the memory that reviews may take.
var errNoRoom = errors.New("too many reviews at a time")

// room bounds the memory that reviews take: together as many bytes as the largest review may have, and one review beyond that. Room is
// taken for bytes that have arrived, not for announced ones, so a client that sends nothing does not hold up others. Without the one
// review beyond, half-read reviews that hold all bytes would wait for each other. A review takes at most eight times its size in memory:
// its text twice, its answer, and the smaller buffers that either was copied from as it grew.
type room struct {
	bytes  *semaphore.Weighted
	beyond *semaphore.Weighted // of one review
}

func newRoom(limit int64) room {
	return room{bytes: semaphore.NewWeighted(limit), beyond: semaphore.NewWeighted(1)}
}

// place is what one review holds of the room.
type place struct {
	room   *room
	bytes  int64
	beyond bool
}

// take takes so many more bytes.
func (p *place) take(ctx context.Context, n int64) error {
	switch {
	case p.beyond:
	case p.room.bytes.TryAcquire(n):
		p.bytes += n
	case p.room.beyond.Acquire(ctx, 1) != nil:
		return errNoRoom
	default:
		p.beyond = true
	}
	return nil
}

func (p *place) giveBack() {
	p.room.bytes.Release(p.bytes)
	if p.beyond {
		p.room.beyond.Release(1)
	}
}

// read reads a body of that length (negative: unknown) into its place. The caller gives the place back, even if the body cannot be read.
func (p *place) read(ctx context.Context, body io.Reader, length int64) (text []byte, err error) {
	size := int64(piece)
	if 0 <= length && length < size {
		size = length + 1
	}
	next := make([]byte, size)
	for {
		n, err := body.Read(next)
		if n > 0 {
			if err := p.take(ctx, int64(n)); err != nil {
				return nil, err
			}
			if text = append(text, next[:n]...); int64(len(text)) > length/4 {
				text = slices.Grow(text, max(0, int(length)-len(text))) // once, as enough of it has come
			}
		}
		switch {
		case errors.Is(err, io.EOF):
			return text, nil
		case err != nil:
			return nil, err
		}
	}
}

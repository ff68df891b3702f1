package conversion

import (
	"context"
	"errors"
	"io"
	"slices"

	"golang.org/x/sync/semaphore"
)

// piece is how many bytes of a review are read before they have room, for each connection.
const piece = 16 << 10

// errNoRoom: other reviews take all the memory that there is for them.
var errNoRoom = errors.New("too many reviews at a time")

// room bounds the memory that reviews take: as many bytes as one of the largest size has, of all of them, and one review beyond that. It
// is taken for bytes that have come, not for those that are announced, so who sends nothing keeps nobody waiting. The one review beyond
// is why reviews that are half read and hold all bytes do not wait for each other. A review takes at most eight times its size
// in memory: its text twice, its answer, and what was the room of either before it grew.
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

// take so many bytes more.
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

// read a body into its place, which has that length if it is not negative. The caller gives the place back, also if the body cannot be read.
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

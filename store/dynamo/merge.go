package dynamo

import (
	"cmp"
	"context"
	"errors"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
)

// merged merges shards, each of which is sorted by a key, into one sequence in that order.
type merged struct {
	store *Store
	// key is the sort key of the queries. backward is set if they begin with the last one.
	key      string
	backward bool
	shards   []*shard
}

// shard is the rest of a shard: the rows that were read, and the query for the next ones, or nil if
// there are no more.
type shard struct {
	rows  []attributes
	query *dynamodb.QueryInput
}

// merge returns the rows of queries as one sequence; each query reads a shard. want is how many
// rows the caller needs in total: the first page of a shard has its share of them, and some more
// because shards differ.
func (s *Store) merge(key string, backward bool, want int, queries []*dynamodb.QueryInput) *merged {
	const spare, most = 10, 1000
	page := min(want/len(queries)+want/(2*len(queries))+spare, max(want, 1), most)
	m := &merged{store: s, key: key, backward: backward}
	for _, q := range queries {
		q.Limit, q.ScanIndexForward = aws.Int32(int32(page)), aws.Bool(!backward)
		m.shards = append(m.shards, &shard{query: q})
	}
	return m
}

// next removes and returns the next row. It reads a page if it has to. It returns nil if there are
// no more rows.
func (m *merged) next(ctx context.Context) (attributes, error) {
	if err := m.fill(ctx); err != nil {
		return nil, err
	}
	var first *shard
	for _, s := range m.shards {
		if len(s.rows) > 0 && (first == nil || m.before(s, first)) {
			first = s
		}
	}
	if first == nil {
		return nil, nil
	}
	row := first.rows[0]
	first.rows = first.rows[1:]
	return row, nil
}

func (m *merged) before(s, t *shard) bool {
	order := cmp.Compare(stringOf(s.rows[0], m.key), stringOf(t.rows[0], m.key))
	return m.backward && order > 0 || !m.backward && order < 0
}

// fill reads a page of every shard that has no rows left, concurrently.
func (m *merged) fill(ctx context.Context) error {
	errs := make([]error, len(m.shards))
	var all sync.WaitGroup
	for i, s := range m.shards {
		if len(s.rows) == 0 && s.query != nil {
			all.Go(func() { errs[i] = s.fill(ctx, m.store) })
		}
	}
	all.Wait()
	return errors.Join(errs...)
}

func (s *shard) fill(ctx context.Context, from *Store) error {
	for len(s.rows) == 0 && s.query != nil {
		out, err := from.read(ctx, s.query)
		if err != nil {
			return err
		}
		s.rows = out.Items
		if s.query.ExclusiveStartKey = out.LastEvaluatedKey; len(out.LastEvaluatedKey) == 0 {
			s.query = nil
		}
	}
	return nil
}

package dynamo

import (
	"context"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
)

// signingSort is the sort key of the deployment's signing key.
const signingSort = "sign"

// signingPartition returns the partition of the signing key. It is separate, so that a policy can
// allow it only to the functions that need it.
func (s *Store) signingPartition() string { return s.namespace + "/k" }

// ReadKey implements store.Keys with one consistent query.
func (s *Store) ReadKey(ctx context.Context) ([]byte, error) {
	out, err := s.read(ctx, s.query(s.signingPartition(), signingSort, signingSort))
	if err != nil || len(out.Items) == 0 {
		return nil, err
	}
	if err := verify(out.Items[0], attrBody); err != nil {
		return nil, fmt.Errorf("%w: restore it, or delete it: Weft then makes a new key, and retries activities with tokens of the old key after their timeout", err)
	}
	return bytesOf(out.Items[0], attrBody), nil
}

// MakeKey implements store.Keys with one conditional put.
func (s *Store) MakeKey(ctx context.Context, key []byte) error {
	in := &dynamodb.PutItemInput{
		TableName: &s.table, ConditionExpression: aws.String(free),
		Item: attributes{attrPartition: str(s.signingPartition()), attrSort: str(signingSort), attrBody: bin(key)},
	}
	addCheck(in.Item)
	err := write(ctx, func(ctx context.Context, o option) error {
		_, err := s.client.PutItem(ctx, in, o)
		return err
	})
	return stale(err, "a key exists already")
}

package dynamo_test

import (
	"context"
	"errors"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/seed-41655fb1/weft/store"
	"github.com/seed-41655fb1/weft/store/dynamo"
)

// A damaged mark of the slow check is reported and treated as missing. The next WriteMark replaces
// it, once.
func TestDamagedMark(t *testing.T) {
	t.Parallel()
	for name, damage := range map[string]func(item map[string]types.AttributeValue){
		"a flipped bit": func(item map[string]types.AttributeValue) { item["body"].(*types.AttributeValueMemberB).Value[0] ^= 1 },
		"no body":       func(item map[string]types.AttributeValue) { delete(item, "body") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, f := t.Context(), newFake()
			client := f.client()
			reports := 0
			s, err := dynamo.New(client, dynamo.Options{Namespace: "default", Report: func(error) { reports++ }})
			if err != nil {
				t.Fatal(err)
			}
			if err := s.WriteMark(ctx, nil, []byte("first")); err != nil {
				t.Fatal(err)
			}
			damageKey(ctx, t, client, "default/m", "scan", damage)
			if mark, err := s.ReadMark(ctx); err != nil || mark != nil || reports != 1 {
				t.Errorf("the mark is %q, %v, with %d reports", mark, err, reports)
			}
			if err := s.WriteMark(ctx, []byte("first"), []byte("next")); !errors.Is(err, store.ErrStale) {
				t.Errorf("WriteMark after what was damaged: %v, want ErrStale", err)
			}
			if err := s.WriteMark(ctx, nil, []byte("next")); err != nil {
				t.Errorf("it is not replaced: %v", err)
			}
			if err := s.WriteMark(ctx, nil, []byte("other")); !errors.Is(err, store.ErrStale) {
				t.Errorf("a sound one is replaced: %v", err)
			}
			if mark, err := s.ReadMark(ctx); err != nil || string(mark) != "next" {
				t.Errorf("the mark is %q, %v", mark, err)
			}
		})
	}
}

// damageKey damages an item by its key, bypassing the store.
func damageKey(ctx context.Context, t *testing.T, client *dynamodb.Client, pk, sk string, damage func(map[string]types.AttributeValue)) {
	t.Helper()
	table := "weft"
	text := func(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }
	condition := "pk = :p AND sk BETWEEN :a AND :z"
	out, err := client.Query(ctx, &dynamodb.QueryInput{
		TableName: &table, KeyConditionExpression: &condition,
		ExpressionAttributeValues: map[string]types.AttributeValue{":p": text(pk), ":a": text(sk), ":z": text(sk)},
	})
	if err != nil || len(out.Items) != 1 {
		t.Fatalf("there is nothing to damage: %v", err)
	}
	damage(out.Items[0])
	if _, err := client.PutItem(ctx, &dynamodb.PutItemInput{TableName: &table, Item: out.Items[0]}); err != nil {
		t.Fatal(err)
	}
}

package main

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// itemOverhead is DynamoDB's overhead for each stored item.
const itemOverhead = 100

// stored returns the sizes of the table and of its index as DynamoDB bills them.
func (d *deployment) stored(ctx context.Context) (table, index int64, err error) {
	if table, err = d.sizeOf(ctx, nil); err == nil && d.list {
		index, err = d.sizeOf(ctx, aws.String("list"))
	}
	return table, index, err
}

// sizeOf returns the size of an index, or of the table.
func (d *deployment) sizeOf(ctx context.Context, index *string) (n int64, err error) {
	pages := dynamodb.NewScanPaginator(d.tables, &dynamodb.ScanInput{TableName: aws.String(d.name), IndexName: index})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return 0, err
		}
		for _, item := range page.Items {
			n += itemOverhead
			for name, value := range item {
				n += int64(len(name)) + sizeOf(value)
			}
		}
	}
	return n, nil
}

func sizeOf(v types.AttributeValue) (n int64) {
	switch v := v.(type) {
	case *types.AttributeValueMemberS:
		return int64(len(v.Value))
	case *types.AttributeValueMemberB:
		return int64(len(v.Value))
	case *types.AttributeValueMemberN:
		return int64(len(v.Value)+1)/2 + 1
	case *types.AttributeValueMemberM:
		n = 3
		for name, value := range v.Value {
			n += int64(len(name)) + sizeOf(value) + 1
		}
	}
	return n
}

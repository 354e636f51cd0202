package measured

// List prices of AWS in us-east-1, in dollars, without free tiers and discounts. They were read on
// PricesRead.
const (
	PricesRead = "2026-11-21"

	Million = 1e6

	WriteUnit = 0.625 / Million // DynamoDB on demand, 1 KB
	ReadUnit  = 0.125 / Million // DynamoDB on demand, 4 KB, consistent

	StandardRequest = 0.40 / Million // SQS, 64 KB

	Invocation = 0.20 / Million // Lambda
	GigaSecond = 0.0000133334   // Lambda, arm64
)

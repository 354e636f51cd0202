package price

// Million is in how many units prices are usually given.
const Million = 1e6

// ReadOn is the day on which the prices were read, and Region the region that they are for. They
// are in dollars, without free tiers and discounts.
const (
	ReadOn = "2026-11-21"
	Region = "us-east-1"
)

// List prices of AWS.
const (
	WriteUnit = 0.625 / Million // DynamoDB on demand, 1 KB
	ReadUnit  = 0.125 / Million // DynamoDB on demand, 4 KB, consistent
	Storage   = 0.25            // DynamoDB, a GB-month
	BackUp    = 0.20            // DynamoDB, point-in-time recovery, a GB-month of the table

	StandardRequest = 0.40 / Million // SQS, 64 KB
	FIFORequest     = 0.50 / Million // SQS, 64 KB

	Invocation    = 0.20 / Million // Lambda
	GigaSecond    = 0.0000133334   // Lambda, arm64
	GigaSecondX86 = 0.0000166667   // Lambda, x86_64

	HTTPRequest = 1.00 / Million // API Gateway, HTTP API; a function URL costs nothing more
	RESTRequest = 3.50 / Million // API Gateway, REST API

	// Event is an event that a program puts on an event bus of EventBridge, for each 64 KB. Its
	// price was read in copies of AWS's page.
	Event = 1.00 / Million
	// RuleEvent is an event of a scheduled rule of EventBridge. It is an upper bound: no price of
	// scheduled ones was found.
	RuleEvent = Event

	KeyRequest = 3.0 / Million // KMS
	KeyMonth   = 1.00          // KMS, a key and month
	BlobPut    = 5.0 / Million // S3, a PUT or a LIST
	BlobGet    = 0.4 / Million // S3, a GET

	Logged       = 0.50 // CloudWatch Logs, a GB that is taken in, without its tiers
	LogStorage   = 0.03 // CloudWatch Logs, a GB-month, compressed
	AlarmMetric  = 0.10 // CloudWatch, a metric of an alarm and month
	CustomMetric = 0.30 // CloudWatch, a metric and month
)

// TaskSeconds and TaskGigabytes are what an invocation takes of Lambda, unless it is measured. They
// are an estimate.
const (
	TaskSeconds   = 0.010
	TaskGigabytes = 0.25
)

// Lambda returns the price of invocations.
func Lambda(invocations int64) float64 {
	return float64(invocations) * (Invocation + TaskSeconds*TaskGigabytes*GigaSecond)
}

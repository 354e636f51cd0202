package cart

import "github.com/seed-41655fb1/weft/workflow"

// Start is the input of a cart.
type Start struct {
	Owner string `json:"owner"`
}

// Item is a quantity of one article.
type Item struct {
	SKU      string `json:"sku"`
	Quantity int    `json:"quantity"`
}

// Total is the content of a cart in numbers.
type Total struct {
	Items int   `json:"items"`
	Cents int64 `json:"cents"`
}

// Contained is a cart as its owner sees it.
type Contained struct {
	Owner       string   `json:"owner"`
	Lines       []Item   `json:"lines"`
	Notes       []string `json:"notes"`
	Total       Total    `json:"total"`
	CheckingOut bool     `json:"checkingOut"`
	Reminders   int      `json:"reminders"`
}

// Order is the input of the activities of a checkout.
type Order struct {
	Owner string `json:"owner"`
	Lines []Item `json:"lines"`
	Cents int64  `json:"cents"`
}

// Receipt is the result of a cart.
type Receipt struct {
	Owner   string `json:"owner"`
	Items   int    `json:"items"`
	Cents   int64  `json:"cents"`
	Payment string `json:"payment"`
	Parcel  string `json:"parcel"`
}

// prices are the prices of the articles, in cents.
var prices = map[string]int64{"tea": 450, "coffee": 890, "cup": 1200, "kettle": 3900}

// The reasons why a cart refuses something.
var (
	ErrQuantity    = workflow.NewError("badQuantity", "the quantity must be between 1 and 99")
	ErrUnknownSKU  = workflow.NewError("unknownSKU", "there is no such sku: we sell tea, coffee, cup and kettle")
	ErrCheckingOut = workflow.NewError("checkingOut", "the cart is checking out")
	ErrEmpty       = workflow.NewError("empty", "the cart is empty")
)

package seal

// KeyFlags are the flags of a command that runs the local server. A field is empty or nil if it was not given.
type KeyFlags struct {
	KeyFile  string  `name:"key-file" env:"WEFT_KEY_FILE" placeholder:"FILE" help:"File of the keys that encrypt what is kept: a line for each, an id and 32 bytes in base64. The first encrypts, all of them open."`
	Compress *string `enum:"off,zstd" env:"WEFT_COMPRESS" placeholder:"off|zstd" help:"Compress what is kept: off or zstd (off)."`

	LargePayloads *bool `negatable:"" env:"WEFT_LARGE_PAYLOADS" help:"Take payloads of up to 5 MiB: what is too large for an item of the table is kept separately. With --no-large-payloads they have 256 KiB."`
}

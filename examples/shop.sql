-- The tables of the examples: a shop whose orders get a receipt. Load once: psql -f examples/shop.sql DATABASE
CREATE TABLE orders (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    customer text NOT NULL,
    amount numeric NOT NULL
);
CREATE TABLE receipts (
    order_id bigint PRIMARY KEY REFERENCES orders,
    body text NOT NULL,
    written_at timestamptz NOT NULL DEFAULT now()
);

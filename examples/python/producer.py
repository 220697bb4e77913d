#!/usr/bin/python3
"""A producer for x_jobs: an order and the job that writes its receipt, in one transaction.

    producer.py 'dbname=shop' --orders 10

Both exist after the commit, or neither does: there is no moment at which an order waits for a receipt that nobody
will write, and no receipt for an order that was rolled back.
"""

import argparse

import psycopg
from psycopg.types.json import Jsonb

ENQUEUE = """
    SELECT id, deduped
      FROM x_jobs.enqueue('send_receipt', input => %(input)s, idempotency_key => %(key)s, queue => 'mail')
"""


def place_order(connection, customer, amount):
    """Stores the order and enqueues its receipt; answers the order's id and the job's."""
    with connection.transaction():
        order_id = connection.execute(
            "INSERT INTO orders (customer, amount) VALUES (%s, %s) RETURNING id", [customer, amount]
        ).fetchone()[0]
        job_id, _ = request_receipt(connection, order_id)
    return order_id, job_id


def request_receipt(connection, order_id):
    """Enqueues the receipt of an order.

    The key names what the job is for, so it may be asked for again (a retried web request, a double click, a lost
    answer to COMMIT): while a job with this name and key is not finished, its id is answered with deduped true and
    nothing is added. A finished job frees its key.
    """
    return connection.execute(ENQUEUE, {"input": Jsonb({"order_id": order_id}), "key": f"order:{order_id}"}).fetchone()


def main():
    parser = argparse.ArgumentParser(description="Places orders and enqueues their receipts.")
    parser.add_argument("conninfo", help="connection string, for instance 'dbname=shop'")
    parser.add_argument("--orders", type=int, default=1, help="how many orders to place")
    options = parser.parse_args()
    with psycopg.connect(options.conninfo, autocommit=True) as connection:
        for number in range(options.orders):
            order_id, job_id = place_order(connection, f"customer {number + 1}", 10 + number)
            print(f"order {order_id}: job {job_id}")


if __name__ == "__main__":
    main()

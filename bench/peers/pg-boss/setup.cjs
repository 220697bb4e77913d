// Lets pg-boss make its schema and one queue in the database that the environment names (PGHOST, PGUSER, PGDATABASE).
// The first argument is the folder into which npm installed it.
const { createRequire } = require('node:module');
const PgBoss = createRequire(`${process.argv[2]}/`)('pg-boss');

async function main() {
    const boss = new PgBoss({ host: process.env.PGHOST, user: process.env.PGUSER, database: process.env.PGDATABASE,
        supervise: false, schedule: false });
    boss.on('error', (error) => { throw error; });
    await boss.start();
    await boss.createQueue('bench');
    await boss.stop();
}

main().catch((error) => { console.error(error); process.exit(1); });

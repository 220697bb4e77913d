/*
 * Counts what a backend plans and executes: every call of the planner, every start of the executor, and every utility
 * statement, whoever makes it: the client's own statement, or code that goes through SPI.
 */
#include "postgres.h"

#include "executor/executor.h"
#include "fmgr.h"
#include "funcapi.h"
#include "optimizer/planner.h"
#include "tcop/utility.h"
#include "utils/builtins.h"

PG_MODULE_MAGIC;

static planner_hook_type next_planner = NULL;
static ExecutorStart_hook_type next_start = NULL;
static ProcessUtility_hook_type next_utility = NULL;

static int64 planned = 0;
static int64 executed = 0;
static int64 utilities = 0;

static PlannedStmt *
count_plan(Query *query, const char *text, int options, ParamListInfo parameters)
{
	planned++;
	return next_planner ? next_planner(query, text, options, parameters) : standard_planner(query, text, options, parameters);
}

static void
count_start(QueryDesc *query, int flags)
{
	executed++;
	if (next_start)
		next_start(query, flags);
	else
		standard_ExecutorStart(query, flags);
}

static void
count_utility(PlannedStmt *statement, const char *text, bool read_only, ProcessUtilityContext context,
			  ParamListInfo parameters, QueryEnvironment *environment, DestReceiver *destination, QueryCompletion *completion)
{
	utilities++;
	if (next_utility)
		next_utility(statement, text, read_only, context, parameters, environment, destination, completion);
	else
		standard_ProcessUtility(statement, text, read_only, context, parameters, environment, destination, completion);
}

void		_PG_init(void);

void
_PG_init(void)
{
	next_planner = planner_hook;
	planner_hook = count_plan;
	next_start = ExecutorStart_hook;
	ExecutorStart_hook = count_start;
	next_utility = ProcessUtility_hook;
	ProcessUtility_hook = count_utility;
}

PG_FUNCTION_INFO_V1(plan_probe);

/* The counts of this backend so far, as text: planned/executed/utilities. */
Datum
plan_probe(PG_FUNCTION_ARGS)
{
	char		text[96];

	snprintf(text, sizeof(text), INT64_FORMAT "/" INT64_FORMAT "/" INT64_FORMAT, planned, executed, utilities);
	PG_RETURN_TEXT_P(cstring_to_text(text));
}

# x_jobs: a durable job system inside PostgreSQL. `make test` and `make demo` need nothing installed but make.
EXTENSION = x_jobs
MODULE_big = x_jobs
version := $(shell sed -n "s/^default_version *= *'\(.*\)'.*/\1/p" jobs.control)

# Sources: every room under src/. Objects lie beside them.
SOURCES := $(sort $(wildcard src/*.cpp src/*/*.cpp))
OBJS := $(SOURCES:.cpp=.o)
UNIT_TESTS := $(sort $(wildcard test/unit/*_test.cpp))

# The install script, in the order in which it runs. Listed by name: order is meaning here.
SQL_PARTS = 00_header 10_types 20_tables 30_errors 40_queue 50_lease 60_settle 70_operate 80_upkeep 82_leader 83_tasks 85_health 90_roles 95_comments
SQL_FILES := $(SQL_PARTS:%=sql/install/%.sql)
DATA = $(sort $(wildcard sql/x_jobs--*--*.sql) $(wildcard sql/released/x_jobs--*.sql))
DATA_built = sql/x_jobs--$(version).sql
EXTRA_CLEAN = x_jobs.control $(SOURCES:.cpp=.d) test/unit/build test/t/build results regression.diffs regression.out

# The dialect of src/README.md; without exceptions no frame has anything left to do when the server jumps over it.
DIALECT = -std=c++20 -fno-exceptions -fno-rtti -fno-threadsafe-statics
# What a designated initialiser leaves out has its default.
WARNINGS = -Wall -Wextra -Werror -Wno-missing-field-initializers
STRICTER = -Wshadow -Wconversion
PG_CPPFLAGS = -Isrc -DX_JOBS_VERSION='"$(version)"'
PG_CXXFLAGS = $(DIALECT) $(WARNINGS) -O2 -g -MMD -MP
# PGXS links with the C compiler, so the library cannot need the C++ runtime.
SHLIB_LINK = -Wl,--version-script=src/exports.map

# Inputs lie in test/, answers in expected/. The runner looks into ./sql before test/sql, hence sql/install/.
REGRESS = $(sort $(patsubst test/sql/%.sql,%,$(wildcard test/sql/*.sql)))
ISOLATION = $(sort $(patsubst test/specs/%.spec,%,$(wildcard test/specs/*.spec)))
RUNNER_OPTS = --inputdir=test --outputdir=. --load-extension=x_jobs $(if $(filter-out 15,$(MAJORVERSION)),--expecteddir=.)
REGRESS_OPTS = $(RUNNER_OPTS)
ISOLATION_OPTS = $(RUNNER_OPTS)

PG_CONFIG ?= pg_config
PGXS := $(shell $(PG_CONFIG) --pgxs 2>/dev/null)
all:
ifneq ($(PGXS),)
# The JIT bitcode rule of PGXS does not receive our C++ flags.
override with_llvm = no
include $(PGXS)
# System headers, so that the server's own warnings are not errors of ours.
override CPPFLAGS := $(patsubst -I$(includedir_server),-isystem $(includedir_server),$(patsubst -I$(includedir_internal),-isystem $(includedir_internal),$(CPPFLAGS)))
else
all install installcheck:
	@echo "pg_config not found: install postgresql-server-dev, or run 'make test', which does so" >&2; exit 1
endif

src/core/%.o: override CXXFLAGS += $(STRICTER)
$(OBJS): Makefile jobs.control
x_jobs.so: src/exports.map
-include $(SOURCES:.cpp=.d)

x_jobs.control: jobs.control
	cp $< $@

$(DATA_built): $(SQL_FILES) Makefile
	for part in $(SQL_FILES); do echo "-- from $$part"; cat $$part; done > $@.tmp
	mv $@.tmp $@

# The library with its stop points (src/pg/stop_point.hpp), for the tests of races. Never installed.
STOPS = test/t/build
STOP_OBJS = $(SOURCES:%.cpp=$(STOPS)/%.o)
$(STOP_OBJS): $(STOPS)/%.o: %.cpp $(wildcard src/*/*.hpp)
	@mkdir -p $(@D)
	$(CXX) $(DIALECT) -O1 -g -fPIC $(CPPFLAGS) -DX_JOBS_STOP_POINTS -c -o $@ $<
$(STOPS)/x_jobs.so: $(STOP_OBJS)
	$(CC) -shared -Wl,--version-script=src/exports.map -o $@ $^
stop-points: $(STOPS)/x_jobs.so

# The checks. test/README.md says what each one guards and what to do when it fails.
tools = test/tools
FORMATTED = $(sort $(wildcard src/*.[ch]pp src/*/*.[ch]pp test/unit/*.[ch]pp test/fuzz/*.cpp))

check-unit: export FLAGS = $(DIALECT) $(WARNINGS) $(STRICTER) -O1 -g -Isrc -Itest/unit
check-unit: ; $(tools)/check-unit $(UNIT_TESTS)
check-frames: export FLAGS = $(filter-out -fno-exceptions,$(DIALECT)) $(CPPFLAGS)
check-frames: ; $(tools)/check-frames $(SOURCES)
check-rooms: ; $(tools)/check-rooms
check-symbols: all ; $(tools)/check-symbols x_jobs.so $(DATA_built)
check-sql: $(DATA_built) ; $(tools)/check-sql $(DATA_built)
check-upgrade: $(DATA_built) ; $(tools)/check-upgrade $(version)
check-meta: ; $(tools)/check-meta $(version)
check-checks: export FLAGS = $(filter-out -fno-exceptions,$(DIALECT)) $(CPPFLAGS)
check-checks: ; $(tools)/check-checks
check-behaviours: ; $(tools)/check-behaviours
format: ; clang-format -i $(FORMATTED)
format-check: ; clang-format --dry-run --Werror $(FORMATTED)
tidy: export FLAGS = $(DIALECT) $(CPPFLAGS)
tidy: ; $(tools)/tidy $(SOURCES)
check-static: format-check tidy check-frames check-rooms check-symbols check-sql check-meta check-checks check-behaviours

demo: ; demo/run
test: ; test/run

# What PGXN and packagers get: the committed tree with the joined script.
dist: $(DATA_built)
	git archive --prefix=x_jobs-$(version)/sql/ --add-file=$(DATA_built) --prefix=x_jobs-$(version)/ -o x_jobs-$(version).zip HEAD

.PHONY: stop-points all test demo dist format format-check tidy check-static check-unit check-frames check-rooms check-symbols check-sql \
        check-upgrade check-meta check-checks check-behaviours

#include "tests/support/test.h"

#include "gateway/observe/model_label.h"

static void joins(struct gw_model_text *texts, size_t n, const char *expected)
{
    struct baton_buf out;
    baton_buf_init(&out, 1 << 16);
    gw_model_label_join(&out, texts, n);
    assert_string_equal(baton_buf_text(&out), expected);
    baton_buf_fini(&out);
}

TEST(samples_of_a_family_stand_together_and_say_their_model)
{
    struct gw_model_text texts[] = {{.model = "a",
                                     .text =
                                         "# HELP x Some.\n# TYPE x gauge\nx 1\n"
                                         "# HELP xy More.\n# TYPE xy counter\nxy{of=\"p {q}\"} 2\n"
                                         "xy{of=\"r\"} NaN\n"},
                                    {.model = "b\"c",
                                     .text = "# HELP xy More.\n# TYPE xy counter\nxy{of=\"r\"} 4\n"
                                             "# HELP x Some.\n# TYPE x gauge\nx 3\n"
                                             "# HELP z Own.\n# TYPE z gauge\nz 5\n"}};
    joins(texts, 2,
          "# HELP x Some.\n# TYPE x gauge\nx{model=\"a\"} 1\nx{model=\"b\\\"c\"} 3\n"
          "# HELP xy More.\n# TYPE xy counter\nxy{model=\"a\",of=\"p {q}\"} 2\n"
          "xy{model=\"a\",of=\"r\"} NaN\nxy{model=\"b\\\"c\",of=\"r\"} 4\n"
          "# HELP z Own.\n# TYPE z gauge\nz{model=\"b\\\"c\"} 5\n");
}

TEST(families_without_samples_and_texts_without_families_are_kept_apart)
{
    struct gw_model_text texts[] = {{.model = "a", .text = ""},
                                    {.model = "b",
                                     .text = "# HELP x S.\n# TYPE x gauge\n"
                                             "# HELP y T.\n# TYPE y gauge\ny 1\n"}};
    joins(texts, 2, "# HELP x S.\n# TYPE x gauge\n# HELP y T.\n# TYPE y gauge\ny{model=\"b\"} 1\n");
}

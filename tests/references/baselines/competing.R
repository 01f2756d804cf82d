# Competing risks: Fine-Gray of cmprsk, cause-specific Cox of riskRegression, Kaplan-Meier and Aalen-Johansen of survival.
# Run here: Rscript competing.R    (writes competing.json)
suppressMessages({library(survival); library(cmprsk); library(riskRegression); library(prodlim)})
set.seed(21)
n <- 220
x <- cbind(a = round(rnorm(n), 3), b = rbinom(n, 1, .4), c = round(runif(n, 20, 80), 1))
t1 <- rexp(n, .08 * exp(.6 * x[, 1] - .5 * x[, 2]))
t2 <- rexp(n, .05 * exp(.02 * (x[, 3] - 50)))
t3 <- rexp(n, .02)
censoring <- runif(n, 0, 25)
first <- pmin(t1, t2, t3, censoring)
event <- ifelse(first == censoring, 0, ifelse(first == t1, 1, ifelse(first == t2, 2, 3)))
time <- ceiling(first * 4) / 4                                     # quarters: ties within and between causes
entry <- ifelse(runif(n) < .4, floor(time * runif(n)), 0)
entry <- ifelse(entry < time, entry, 0)
weight <- round(runif(n, .2, 3), 2)
data <- data.frame(x, time, event)
new <- data.frame(a = c(-1, 0, 1.5), b = c(0, 1, 1), c = c(25, 50, 75))
times <- c(.1, .25, 2, 3.3, 7, 12, 20)

step <- function(at, value, start) apply(value, 2, function(v) approx(c(0, at), c(start, v), times, "constant", rule = 2)$y)
fine_gray <- lapply(1:3, function(k) {
  f <- crr(time, event, x, failcode = k, gtol = 1e-10, maxiter = 50)
  p <- predict(f, as.matrix(new))
  list(coef = unname(f$coef), standard_errors = sqrt(diag(f$var)), incidence = t(step(p[, 1], p[, -1], 0)))
})
csc <- CSC(Hist(time, event) ~ a + b + c, data, control = coxph.control(eps = 1e-11, toler.chol = 1e-12))
cause_specific <- lapply(1:3, function(k) {
  risk <- function(pl) predict(csc, newdata = new, times = times, cause = k, product.limit = pl)$absRisk
  list(product_limit = risk(TRUE), exponential = risk(FALSE))
})
aj <- function(fit) t(summary(fit, times = times, extend = TRUE)$pstate)  # rows: alive, events 1, 2, 3
state <- factor(event, 0:3)
nonparametric <- list(
  kaplan_meier = summary(survfit(Surv(time, event > 0) ~ 1), times = times, extend = TRUE)$surv,
  kaplan_meier_weighted_truncated =
    summary(survfit(Surv(entry, time, event > 0) ~ 1, weights = weight), times = times, extend = TRUE)$surv,
  aalen_johansen = aj(survfit(Surv(time, state) ~ 1)),
  aalen_johansen_weighted = aj(survfit(Surv(time, state) ~ 1, weights = weight)),
  aalen_johansen_truncated = aj(survfit(Surv(entry, time, state) ~ 1, id = seq_len(n))))
version <- function(p) as.character(packageVersion(p))
made_with <- list(R = R.version.string, survival = version("survival"), cmprsk = version("cmprsk"),
                  riskRegression = version("riskRegression"))
columns <- list(x = unname(x), time = time, event = event, entry = entry, weight = weight)
writeLines(jsonlite::toJSON(list(made_with = made_with, data = columns, new = unname(as.matrix(new)), times = times,
  fine_gray = fine_gray, cause_specific = cause_specific, nonparametric = nonparametric),
  digits = I(15), auto_unbox = TRUE), "competing.json")
